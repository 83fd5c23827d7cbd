"""Train a small network on digits privately: `python examples/private_torch.py`, or with --cnn a convolutional one.

Needs torch and scikit-learn (`make test-torch` makes an environment that has both). One learning rate by the plan's
public rule, momentum 1/2; pixels of 0 to 16 become -.5 to 1.5, by public numbers.
"""

import sys
from tempfile import TemporaryDirectory

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tacit.accounting.ledger import Ledger
from tacit.noise.randomness import Randomness
from tacit_models.torch import EpochPlan, PrivateTrainer


def network(convolutions: bool) -> torch.nn.Module:
    """64-32-10 with tanh, or two small convolutions."""
    if not convolutions:
        return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10))
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 8, 8)),
        torch.nn.Conv2d(1, 8, 3, padding=1),
        torch.nn.Tanh(),
        torch.nn.AvgPool2d(2),
        torch.nn.Conv2d(8, 16, 3, padding=1),
        torch.nn.Tanh(),
        torch.nn.AvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(64, 10),
    )


def accuracy(
    epsilon: float,
    seed: int = 0,
    convolutions: bool = False,
    randomness: Randomness | None = None,
    epochs: int = 40,
    batches: int = 1,
) -> float:
    """Test accuracy of one private run."""
    pixels, labels = load_digits(return_X_y=True)
    parts = train_test_split(pixels / 8 - 0.5, labels, test_size=0.3, random_state=seed)
    train, test = (torch.tensor(part, dtype=torch.float32) for part in parts[:2])
    target, held = (torch.tensor(part) for part in parts[2:])
    torch.manual_seed(seed)  # of the first parameters, which are public
    model = network(convolutions)
    plan = EpochPlan.calibrate(
        records=len(train),
        parameters=sum(value.numel() for value in model.parameters()),
        epsilon=epsilon,
        delta=1e-6,
        epochs=epochs,
        batches=batches,
        clip=1.0,
        relation="zero-out",
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=plan.learning_rate(momentum=0.5), momentum=0.5)
    with TemporaryDirectory() as folder:
        trainer = PrivateTrainer(
            model, optimizer, torch.nn.functional.cross_entropy, (train, target), plan,
            folder=folder, ledger=Ledger(), randomness=randomness,
        )  # fmt: skip
        trainer.run()
    with torch.no_grad():
        return float((model(test).argmax(dim=1) == held).double().mean())


if __name__ == "__main__":
    for budget in (1.0, 3.0, 8.0):
        print(f"epsilon={budget:g}: accuracy {accuracy(budget, convolutions='--cnn' in sys.argv):.3f}")
