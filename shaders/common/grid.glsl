// The linear index of a workgroup: the host folds long grids over x and y. Depends on the workgroup
// alone, so that CPU drivers keep addresses made from it in scalar registers.
uint group_index()
{
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}
