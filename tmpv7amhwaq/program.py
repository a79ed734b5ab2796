
import sys, time
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(storage="sqlite:///" + sys.argv[1], sampler=optuna.samplers.RandomSampler(seed=1))
begin = time.perf_counter()
study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2, n_trials=int(sys.argv[2]))
print("rate", len(study.trials) / (time.perf_counter() - begin))
