# SPDX-License-Identifier: MIT
"""Exceptions that a trial tells the program, and that the program leaves for a trial."""

import os
import pickle
import tempfile
import unittest

import hpo._loop._endings as words


class TwoArguments(Exception):
    def __init__(self, name, code):
        super().__init__(f"{name}: {code}")
        self.code = code


class ByName(Exception):
    def __init__(self, *, code):
        super().__init__(code)
        self.code = code


class Raised(unittest.TestCase):
    def copy_of(self, error):
        return pickle.loads(words._pickled(error))

    def test_an_exception_is_the_same_whatever_its_init_wants(self):
        for error in (TwoArguments("batch", 7), ByName(code=3), ValueError("x"), KeyError("k"), KeyboardInterrupt(), SystemExit(7)):
            again = self.copy_of(error)
            self.assertIs(type(again), type(error))
            self.assertEqual(getattr(again, "code", None), getattr(error, "code", None))
            self.assertEqual((str(again), again.args, again.__dict__), (str(error), error.args, error.__dict__))

    def test_what_cannot_be_copied_is_told(self):
        class Local(Exception):
            pass

        with self.assertRaises(ValueError):
            words._pickled(Local())

    def test_what_the_system_raises_keeps_its_members(self):
        for raise_it in (lambda: os.stat("/no/such/file"), lambda: b"\xff".decode("utf-8")):
            try:
                raise_it()
            except Exception as error:
                again = self.copy_of(error)
                self.assertEqual((type(again), str(again)), (type(error), str(error)))

    def test_an_exception_is_left_for_one_trial_and_taken_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "said")
            words.leave_exception(path, 3, TwoArguments("batch", 7))
            self.assertIsNone(words.Words(path, 4).left_exception("TwoArguments: batch: 7"))
            taken = words.Words(path, 3).left_exception("TwoArguments: batch: 7")
            self.assertEqual((type(taken), taken.code), (TwoArguments, 7))
            self.assertIsNone(words.Words(path, 3).left_exception("TwoArguments: batch: 7"))
            class Local(KeyError):
                pass

            words.leave_exception(path, 3, Local("batch"))  # pickle finds no class of a function
            self.assertIs(type(words.Words(path, 3).left_exception("Local: 'batch'")), KeyError)
            words.leave_exception(path, 3, ValueError("an older one"))
            self.assertIsNone(words.Words(path, 3).left_exception("ValueError: this one"))


if __name__ == "__main__":
    unittest.main()
