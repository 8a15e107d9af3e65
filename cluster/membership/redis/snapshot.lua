--[[
Returns the state of the cluster.

Keys:
  1  members: hash of `mark`, `mark-made`, `mark-server`, `view`, `lease:<process>`, `left:<process>`, and of what
     `packing.lua` explains: `layout`, `layout-order` (the processes by their places), `layout-bytes` (the length of the
     string), `layout-fields` (the number of fields) and `unpacked-seen`
  2  packed: what renewals change, each process at its place
Arguments:
  1  a new random id: for the mark, if this server has none, and for the layout
  2  the layout that the reader knows; empty if none
Result: as `state` returns it
]]
markOf(now, ARGV[1], function()
  return false
end)
return state(now, ARGV[2], ARGV[1])
