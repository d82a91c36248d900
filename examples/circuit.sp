* An amplifier with one transistor: how far is its gain at 1 kHz from 10, in per cent?
Vcc supply 0 dc 10
Vin input 0 dc 0 ac 1
Cin input base 10u
R1 supply base 47k
R2 base 0 10k
Rc supply out 4.7k
Re emitter 0 400
Q1 out base emitter small
.model small npn (bf=150 is=1e-14 vaf=80)

.control
setseed $seed
let spread = unitvec(4)
let spread = 1 + 0.03 * sgauss(spread)
let collector = 10500 * spread[0]
let degeneration = 1000 * spread[1]
let upper = 47000 * spread[2]
let lower = $lower * spread[3]
alter Rc = collector
alter Re = degeneration
alter R1 = upper
alter R2 = lower
alter Vcc dc = $supply
altermod small bf = $beta
set temp = $celsius
ac lin 1 1k 1k
let off = 100 * abs(mag(v(out)) - 10) / 10
set reward = $&off
echo $reward > $answer
quit 0
.endc
.end
