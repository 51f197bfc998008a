"""DRESS, a dynamic reservation for small jobs (Mao et al., 2018)."""
