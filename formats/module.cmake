# As in zoo/module.cmake: the bits of what is written must not depend on the machine.
target_compile_options(xsp_formats PRIVATE -ffp-contract=off)
