module fairlead/bench

go 1.19
