--[[
A process gives its own lease back.

Keys:
  1  members: hash of `mark`, `view` and `lease:<process>`
Arguments:
  1  process id
  2  channel for hints
Result:
  1 if there was a lease, else 0
]]
local released = redis.call('HDEL', KEYS[1], 'lease:' .. ARGV[1])
if released == 1 then
  redis.call('PUBLISH', ARGV[2], ARGV[1])
end
return released
