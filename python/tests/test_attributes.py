# SPDX-License-Identifier: MIT
"""User attributes that a store cannot hold."""

import copy
import json
import math
import os
import pickle
import tempfile
import threading
import unittest
import warnings

from hpo.optuna import _attributes


class Model:
    def __init__(self, weight):
        self.weight = weight


class KeptAttributes(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="hpo-attributes-")
        self.addCleanup(temporary.cleanup)
        self.front = os.path.join(temporary.name, "front")
        self.kept = _attributes.Kept(self.front, "study", anything=True)

    def both(self, number, **attributes):
        """What the store has of attributes, and what the program sees."""
        stored = {name: self.kept.keep(number, name, value) for name, value in attributes.items()}
        return stored, self.kept.shown(number, json.loads(json.dumps(stored, allow_nan=False)))

    def test_a_model_is_a_text_in_the_store_and_itself_in_the_program(self):
        stored, shown = self.both(3, model=Model(7), note="a")
        self.assertEqual(stored, {"model": "<Model, kept by the program>", "note": "a"})
        self.assertEqual(shown["model"].weight, 7)
        self.assertIs(shown["model"], shown["model"])
        self.assertEqual(self.kept.numbers(), {3})

    def test_numbers_that_json_has_not_and_types_come_back(self):
        stored, shown = self.both(0, auc=math.nan, most=[1.0, -math.inf], shape=(2, (3, 4)), by_size={1: "a"})
        self.assertEqual(stored["most"], [1.0, "-Infinity"])
        self.assertTrue(math.isnan(shown["auc"]))
        self.assertEqual((shown["most"], shown["shape"], shown["by_size"]), ([1.0, -math.inf], (2, (3, 4)), {1: "a"}))

    def test_whole_numbers_of_more_than_64_bits_come_back(self):
        entropy = 0x1234567890ABCDEF1234567890ABCDEF
        stored, shown = self.both(0, entropy=entropy, edge=[(1 << 64) - 1, 1 << 64, -(1 << 63), -(1 << 63) - 1])
        self.assertEqual(stored, {"entropy": str(entropy), "edge": [(1 << 64) - 1, str(1 << 64), -(1 << 63), str(-(1 << 63) - 1)]})
        self.assertEqual(shown["entropy"], entropy)
        self.assertEqual(shown["edge"], [(1 << 64) - 1, 1 << 64, -(1 << 63), -(1 << 63) - 1])

    def test_what_is_too_long_for_a_line_comes_back(self):
        stored, shown = self.both(0, text="x" * (2 << 20))
        self.assertEqual(stored, {"text": "<str, kept by the program>"})
        self.assertEqual(len(shown["text"]), 2 << 20)

    def test_what_json_holds_needs_no_file(self):
        _, shown = self.both(1, a=[1, None, "ü", {"b": 0.5}], c=True)
        self.assertEqual(type(shown), dict)
        self.assertFalse(os.path.exists(self.front + ".kept"))

    def test_what_is_deleted_or_set_stays_so(self):
        for change, left in (
            (lambda shown: shown.__delitem__("model"), {"note": "a"}),
            (lambda shown: shown.pop("model"), {"note": "a"}),
            (lambda shown: shown.clear(), {}),
            (lambda shown: shown.update(model=1), {"model": 1, "note": "a"}),
            (lambda shown: shown.update([("model", 1)]), {"model": 1, "note": "a"}),
            (lambda shown: shown.__ior__({"model": 1}), {"model": 1, "note": "a"}),
        ):
            _, shown = self.both(5, model=Model(7), note="a")
            change(shown)
            self.assertEqual(dict(shown.items()), left)
        _, shown = self.both(5, model=Model(7))
        self.assertEqual(shown.popitem()[1].weight, 7)
        self.assertEqual(dict(shown.items()), {})

    def test_all_ways_to_read_give_the_value(self):
        attributes = {"model": Model(7), "note": "a"}
        for read in (
            dict, copy.copy, copy.deepcopy, lambda each: {**each}, lambda each: dict(each.items()), lambda each: dict(zip(each, each.values())),
            lambda each: each.copy(), lambda each: {"model": each.get("model"), "note": each.get("note")},
            lambda each: {"model": each.setdefault("model", 1), "note": each.setdefault("note", 1)}, lambda each: each | {}, lambda each: {} | each,
            lambda each: pickle.loads(pickle.dumps(each)), lambda each: {"model": each.pop("model"), "note": each.pop("note", 0)},
        ):
            shown = read(self.both(2, **attributes)[1])
            self.assertEqual((shown["model"].weight, shown["note"], len(shown)), (7, "a", 2))

    def test_the_last_value_counts(self):
        self.both(2, a=Model(1), b=Model(2))
        _, shown = self.both(2, a=Model(3), b="text")
        self.assertEqual((shown["a"].weight, shown["b"]), (3, "text"))

    def test_another_process_reads_what_a_trial_has_kept(self):
        self.both(5, a=Model(1))
        again = _attributes.Kept(self.front, "study", anything=True)
        self.assertEqual(again.shown(5, {"a": "<Model, kept by the program>"})["a"].weight, 1)
        self.assertEqual(_attributes.Kept(self.front, "another", anything=True).shown(5, {"a": "text"}), {"a": "text"})

    def test_what_pickle_cannot_hold_is_kept_by_the_program_alone(self):
        class Local:
            weight = 4

        _, shown = self.both(None, a=Local())
        self.assertEqual(shown["a"].weight, 4)
        in_trial = _attributes.Kept(self.front, "study", anything=True)
        in_trial._owner = 0  # of another process
        for value in (threading.Lock(), Local(), lambda: 1):
            with self.assertRaisesRegex(TypeError, "is nothing that JSON or pickle can hold"):
                in_trial.keep(0, "a", value)

    def test_a_study_in_a_database_takes_what_optuna_takes_there(self):
        self.kept = _attributes.Kept(self.front, "study", anything=False)
        with self.assertRaises(TypeError):
            self.kept.keep(0, "a", Model(1))
        stored, shown = self.both(0, a=math.nan, b=(1, math.inf), c=(1, 2))
        self.assertEqual(stored["a"], "NaN")
        self.assertTrue(math.isnan(shown["a"]))
        self.assertEqual((shown["b"], shown["c"]), ([1, math.inf], [1, 2]))

    def test_files_that_have_gone_leave_the_text_of_the_store(self):
        _, shown = self.both(0, a=Model(1))
        os.remove(self.kept._file_of(0, "a"))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.assertEqual(shown["a"], "<Model, kept by the program>")
        self.assertIn("'a' cannot be read again", str(told[0].message))


if __name__ == "__main__":
    unittest.main()
