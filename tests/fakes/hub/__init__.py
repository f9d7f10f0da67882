"""A stand-in for the Hugging Face Hub, made of the standard library and `git http-backend`.

Read in this order: server.py (listeners and the way of a request), routes.py (which URL is what),
files.py, api.py, git_service.py, lfs.py (the well-behaved answers), then misbehaviours.py and the
faults_*.py files (what can be switched on to go wrong). README.md beside this folder is the manual.
"""
