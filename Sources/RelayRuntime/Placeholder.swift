// RelayRuntime
