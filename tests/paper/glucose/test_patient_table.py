"""The paper's table of patients (its appendix, "Patients' Parameters"), to the printed digits."""

from __future__ import annotations

from surefoot.paper.glucose import patient_table

PRINTED = """
adult#001 9.92 35.70 61 50.42
adult#002 8.64 31.10 65 57.87
adult#003 8.86 31.90 27 56.43
adult#004 14.79 53.24 66 33.81
adult#005 7.32 26.35 52 68.32
adult#006 8.14 29.32 26 61.39
adult#007 11.90 42.85 35 42.01
adult#008 11.69 42.08 48 42.78
adult#009 7.44 26.78 68 67.21
adult#010 7.76 27.93 68 64.45
adolescent#001 13.61 49.00 18 36.73
adolescent#002 8.06 29.02 19 62.03
adolescent#003 20.62 74.25 15 24.24
adolescent#004 14.18 51.06 17 35.25
adolescent#005 14.70 52.93 16 34.00
adolescent#006 10.08 36.30 14 49.58
adolescent#007 11.46 41.25 16 43.64
adolescent#008 7.89 28.40 14 63.39
adolescent#009 20.77 74.76 19 24.08
adolescent#010 15.07 54.26 17 33.17
child#001 28.62 103.02 9 17.47
child#002 27.51 99.02 9 18.18
child#003 31.21 112.35 8 16.02
child#004 25.23 90.84 12 19.82
child#005 12.21 43.97 10 40.93
child#006 24.72 89.00 8 20.22
child#007 13.81 49.71 9 36.21
child#008 23.26 83.74 10 21.49
child#009 28.75 103.48 7 17.39
child#010 24.21 87.16 12 20.65
"""


def test_the_table_of_the_paper_comes_out_to_the_printed_digits():
    rows = [
        f"{row.Patient} {row.CarbF:.2f} {row.CorrF:.2f} {row.Age} {row.TDI:.2f}"
        for row in patient_table().itertuples()
    ]
    assert rows == PRINTED.split("\n")[1:-1]
