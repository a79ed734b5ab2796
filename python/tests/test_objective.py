# SPDX-License-Identifier: MIT
"""What a trial tells the program of the exception that ended it."""

import os
import pickle
import unittest

import hpo._objective as objective


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
        return pickle.loads(objective._pickled(error))

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
            objective._pickled(Local())

    def test_what_the_system_raises_keeps_its_members(self):
        for raise_it in (lambda: os.stat("/no/such/file"), lambda: b"\xff".decode("utf-8")):
            try:
                raise_it()
            except Exception as error:
                again = self.copy_of(error)
                self.assertEqual((type(again), str(again)), (type(error), str(error)))


if __name__ == "__main__":
    unittest.main()
