// SPDX-License-Identifier: MIT
// Allocates and touches memory in steps of 8 MiB, as many as its argument says. What cannot be had ends it by abort().
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
    const size_t step = 8u << 20;
    int wanted = count > 1 ? atoi(words[1]) : 0;
    for (int i = 0; i < wanted; ++i) {
        char* got = malloc(step);
        if (got == NULL) {
            perror("malloc");
            abort();
        }
        memset(got, 1, step);
    }
    if (wanted > 8) sleep(60);  // so that it is seen, however busy the machine is
    printf("@hpo {\"value\": %d}\n", wanted);
    return 0;
}
