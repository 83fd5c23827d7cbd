"""The database below stores and experiments: connections, ledgers, and marks that notice an older copy."""
