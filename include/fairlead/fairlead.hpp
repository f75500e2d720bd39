// Everything of the library. Start here: sched/scheduler.hpp, then coro/task.hpp, then io/tcp.hpp.
#pragma once

#include <fairlead/channel/channel.hpp>
#include <fairlead/coro/adapted_wait.hpp>
#include <fairlead/coro/awaits.hpp>
#include <fairlead/coro/blocking.hpp>
#include <fairlead/coro/for_each.hpp>
#include <fairlead/coro/fork_join.hpp>
#include <fairlead/coro/permit_in.hpp>
#include <fairlead/coro/scope.hpp>
#include <fairlead/coro/spawn.hpp>
#include <fairlead/coro/task.hpp>
#include <fairlead/coro/waited.hpp>
#include <fairlead/coro/when_all.hpp>
#include <fairlead/coro/with_scope.hpp>
#include <fairlead/io/address.hpp>
#include <fairlead/io/epoll_driver.hpp>
#include <fairlead/io/tcp.hpp>
#include <fairlead/sched/block_in_place.hpp>
#include <fairlead/sched/callback_task.hpp>
#include <fairlead/sched/group.hpp>
#include <fairlead/sched/permit.hpp>
#include <fairlead/sched/scheduler.hpp>
#include <fairlead/wait/event.hpp>
#include <fairlead/wait/latch.hpp>
#include <fairlead/wait/mutex.hpp>
#include <fairlead/wait/semaphore.hpp>
