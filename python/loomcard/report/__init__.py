"""From result files to tables, plots and one page; of our modules it uses only the files' form."""
