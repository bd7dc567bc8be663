-- @needs kernel
-- This file fills the tables about kernels that run at once, which prelude_1_subject.sql makes.

INSERT INTO finding_overlap BY NAME FROM overlapped_part;
INSERT INTO finding_layer_cover BY NAME FROM layer_cover;
INSERT INTO finding_cost_cover BY NAME FROM cost_cover;
