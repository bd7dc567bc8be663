xsp_collect(zoo Recipe recipes zoo/shared/recipe.h)
# A fused multiply-add rounds once where two instructions round twice, so the weights' bits would depend on the machine
# that made them.
target_compile_options(xsp_zoo PRIVATE -ffp-contract=off)
