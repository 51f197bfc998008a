"""Result files to tables, plots and one page; imports nothing of ours but the files' form."""
