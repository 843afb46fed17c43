extension RelayCommandLine {
    /// Every command there is, in the order in which help lists them.
    static let commands: [CommandSpec] =
        [QuickstartCommand.spec, RunCommand.spec, CheckCommand.spec] + AccountCommands.all + [
            LoginCommand.spec, LogoutCommand.spec, WhoAmICommand.spec,
            PollCommand.poll, PollCommand.list, LinkCommand.spec, EventsCommand.spec,
            ExplainCommand.spec,
            ReplayCommand.spec,
        ] + HoldCommands.all + ParkedCommands.all + JournalCommands.all + [
            SandboxCommand.spec, SimulateCommand.spec, DoctorCommand.spec,
            SchemaCommand.event, SchemaCommand.pipeline,
        ]
}
