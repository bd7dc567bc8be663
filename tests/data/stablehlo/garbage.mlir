this is no program, whatever its name says
