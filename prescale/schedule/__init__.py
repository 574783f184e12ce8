"""What runs the pre-scaler again and again, and the alerts for the day it does not: files for whoever installs them."""
