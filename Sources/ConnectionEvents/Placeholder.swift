// ConnectionEvents
