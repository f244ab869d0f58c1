int gb_placeholder(void); int gb_placeholder(void) { return 0; }
