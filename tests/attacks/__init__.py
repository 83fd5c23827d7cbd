"""Every attack of docs/attacks.md against everything that it could break: `make attacks`."""
