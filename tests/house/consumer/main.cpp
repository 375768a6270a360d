#include <topos/version.h>

#include <iostream>

int main() { std::cout << "topos " << topos::version() << '\n'; }
