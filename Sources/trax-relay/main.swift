import RelayCommands

RelayCommandLine.main()
