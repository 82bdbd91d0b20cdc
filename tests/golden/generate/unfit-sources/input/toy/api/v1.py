# -*- coding: nonsense -*-
x = 1
