// TraxAPI
