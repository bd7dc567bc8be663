
:
textPlaceholder*
shape:ÿÿÿÿÿÿÿÿÿ*
dtype0
,
lengthStringLengthtext*
unitBYTE"ª