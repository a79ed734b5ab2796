// SPDX-License-Identifier: MIT
// Stands for a library of a PyTorch that nobody tried: it asks for a function that the virtual card has, for one that it does
// not have, and one that is not of its libraries.
extern "C" {
int cudaFree(void* at);
int cudaFromTheFuture();
int cuFileNotOfTheCard();
int call_them() { return cudaFree(nullptr) + cudaFromTheFuture() + cuFileNotOfTheCard(); }
}
