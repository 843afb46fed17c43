public import RelayCore

/// What the shell needs to know of a pipeline.
public struct RelaySettings: Sendable {
    /// The pipeline's name.
    public var name: String
    /// What statuses mean.
    public var detection: Detection
    /// What polling may spend.
    public var schedule: ScheduleRules
    /// How much a walk may read.
    public var limits: WalkLimits
    /// A request must end within it.
    public var requestTimeout: Duration
    /// A walk must end within it.
    public var walkTimeout: Duration
    /// How long events are kept once every sink has them.
    public var retention: Duration

    /// Settings, field by field.
    public init(
        name: String, detection: Detection, schedule: ScheduleRules, limits: WalkLimits,
        requestTimeout: Duration, walkTimeout: Duration, retention: Duration = .seconds(7 * 86_400)
    ) {
        self.retention = retention
        self.name = name
        self.detection = detection
        self.schedule = schedule
        self.limits = limits
        self.requestTimeout = requestTimeout
        self.walkTimeout = walkTimeout
    }
}
