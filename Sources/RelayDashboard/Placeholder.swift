// RelayDashboard
