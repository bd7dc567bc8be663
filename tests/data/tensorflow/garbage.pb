this is not a graph, whatever its name says
