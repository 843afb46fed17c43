// RelayCommands
