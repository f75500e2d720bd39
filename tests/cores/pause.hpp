// Stands in for the instruction by which a processor waits in a loop.
#pragma once

void fairlead_cores_pause() noexcept;
