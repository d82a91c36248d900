"""How well a classifier that was trained on clean data does on other data (scikit-learn)."""

import warnings

import numpy as np
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

DATA, LABELS = load_wine(return_X_y=True)
SPREAD = DATA.std(axis=0)
KINDS = {
    "bayes": GaussianNB,
    "discriminant": LinearDiscriminantAnalysis,
    "logistic": LogisticRegression,
    "neighbours": KNeighborsClassifier,
    "tree": lambda: DecisionTreeClassifier(random_state=0),
}


def simulate(pull):
    given = pull.parameters
    order = pull.stream(0).permutation(len(LABELS))
    train, test = order[::2], order[1::2]
    model = KINDS[given["model"]]()
    if given["scaled"]:
        model = make_pipeline(StandardScaler(), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without scaling, some do not converge
        model.fit(DATA[train], LABELS[train])
    shown = DATA[test] + given["drift"] * SPREAD
    shown = shown + given["noise"] * SPREAD * pull.stream(1).normal(size=shown.shape)
    if given["sensor"] == "broken":
        shown[:, 6] = DATA[train, 6].mean()  # flavanoids are no longer measured
    return float(np.mean(model.predict(shown) == LABELS[test]))
