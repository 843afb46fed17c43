// RelaySinks
