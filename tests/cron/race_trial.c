/* Shows whether programs under the thread sanitizer can start at all. */
int main(void) {
    return 0;
}
