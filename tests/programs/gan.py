"""Two small networks with an optimizer each."""

import torch
from common import DEVICE, arguments, lasting, mlp, size
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy


def main():
    chosen = arguments(__doc__)
    width, layers = 64, size(8, 3)
    generator, critic = mlp(width, layers), mlp(width, layers, classes=1)
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-4)
    of_generator = torch.optim.Adam(generator.parameters(), lr=1e-4)
    real = torch.randn(64, width, device=DEVICE)
    ones, zeros = torch.ones(64, 1, device=DEVICE), torch.zeros(64, 1, device=DEVICE)
    goes_on = lasting(chosen)
    while goes_on():
        made = generator(torch.randn(64, width, device=DEVICE))
        of_critic.zero_grad()
        told = cross_entropy(critic(real), ones) + cross_entropy(critic(made.detach()), zeros)
        told.backward()
        of_critic.step()
        of_generator.zero_grad()
        cross_entropy(critic(made), ones).backward()
        of_generator.step()


if __name__ == "__main__":
    main()
