// RelayConfiguration
