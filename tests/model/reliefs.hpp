// Lets steps of a scenario lose their slot at any moment.
#pragma once

namespace fairlead::model {

/// How often the monitor tries to relieve a worker.
inline unsigned reliefs = 0;

/// Turns reliefs on for explorations while the object exists.
class relieved {
public:
    explicit relieved(unsigned times) { reliefs = times; }
    relieved(const relieved&) = delete;
    relieved& operator=(const relieved&) = delete;
    ~relieved() { reliefs = 0; }
};

}  // namespace fairlead::model
