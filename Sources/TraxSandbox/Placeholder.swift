// TraxSandbox
