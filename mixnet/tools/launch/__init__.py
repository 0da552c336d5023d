"""``mixnet-launch``: start a program in many processes, on one machine or many."""

from mixnet.tools.launch.command_line import main as main
