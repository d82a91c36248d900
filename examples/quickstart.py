"""Three controllers, each of which may wear: which has the best worst case?"""

import surefoot as sf

arms = [[2.0, 0.0], [1.2, 1.0], [0.4, 1.6]]  # what each is designed to do
wear = [[[0, 0], [1.2, 0]], [[0, 0], [0.4, 0.2]], [[0, 0], [0.2, 0.8]]]  # what it may lose
problem = sf.RobustProblem.paper(arms, wear, arm_names=["fast", "steady", "gentle"])
simulator = sf.LinearSimulator(problem, theta=[1.0, 0.6], noise=1.0, seed=0)  # here goes yours
result = sf.identify(problem, simulator, delta=0.05, noise=sf.Gaussian(1.0), misfit=0)
print(result)
