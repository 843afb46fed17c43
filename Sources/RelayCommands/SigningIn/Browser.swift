internal import Glibc

/// Opens addresses in the person's own browser.
enum Browser {
    /// Asks the desktop to; where it cannot, the address that was printed has to do.
    static func open(_ address: String, _ terminal: Terminal) {
        let program = "xdg-open"
        let name = unsafe strdup(program)
        let value = unsafe strdup(address)
        defer {
            unsafe free(name)
            unsafe free(value)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe [name, value, nil]
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for descriptor: Int32 in [0, 1, 2] {
            unsafe posix_spawn_file_actions_addopen(
                &actions, descriptor, "/dev/null", O_RDWR, 0)
        }
        var process = pid_t()
        let code = unsafe posix_spawnp(&process, program, &actions, nil, &arguments, environ)
        if code != 0 { terminal.err("note: no browser could be opened; open it yourself\n") }
    }
}
