"""The certified solver of all public designs, for criteria that are a worst block.

A `Comparison` lists the blocks, a family prices them, a working set of rows and blocks is solved by
an interior point whose block distances are exact; its proof is the design's lower bound.
"""
