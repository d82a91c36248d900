"""What the public designs share: one certified solver for all criteria that are a worst block.

A `Comparison` lists the blocks, a family prices them, a working set of rows and blocks is solved by
an interior point whose block distances are exact; what it proves is the design's lower bound.
"""
