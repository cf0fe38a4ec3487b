"""The screens, one a file; each reads the app's state and turns keys into wishes."""
