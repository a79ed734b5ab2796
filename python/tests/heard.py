# SPDX-License-Identifier: MIT
"""Stands in for hpo's side of the descriptors: keeps what is said, and answers."""

import json
import unittest
from unittest import mock

from hpo._trial import _channel


class Heard:
    def __init__(self, in_trial=True, prune_at=None):
        self.in_trial = in_trial
        self.prune_at = prune_at  # the step of the report after which the answer is to prune
        self.said = []
        self.questions = 0

    def say(self, said):
        self.said.append(json.loads(_channel.line_of(said, _channel.LONGEST_LINE)))

    def ask(self):
        self.questions += 1
        return self.prune_at in [each.get("step") for each in self.said] if self.prune_at is not None else False

    def all_of(self, member):
        return [each[member] for each in self.said if member in each and (member != "value" or "step" not in each)]

    @property
    def reports(self):
        return [(each["step"], each["value"]) for each in self.said if "step" in each]


class HeardTest(unittest.TestCase):
    def hear(self, **settings):
        """From now on the package talks to a Heard, until the test ends."""
        heard = Heard(**settings)
        patch = mock.patch.object(_channel, "channel", heard)
        patch.start()
        self.addCleanup(patch.stop)
        return heard
