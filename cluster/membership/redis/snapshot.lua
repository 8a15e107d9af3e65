--[[
Tells what is there now.

Keys:
  1  members: hash of `mark`, `view` and `lease:<process>`
Arguments:
  1  a fresh random mark, taken if there is none
Result:
  { field, value, field, value, … of the whole hash }
]]
redis.call('HSETNX', KEYS[1], 'mark', ARGV[1])
return redis.call('HGETALL', KEYS[1])
